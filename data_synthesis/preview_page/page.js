// Without this the page still reads; a target inside a closed session may then stay closed in some browsers.
const reveal = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  let opened = false;
  for (let part = target; part; part = part.parentElement) {
    if (part.tagName === "DETAILS" && !part.open) part.open = opened = true;
  }
  if (opened) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
if (matchMedia("(max-width: 900px)").matches) document.querySelector("nav details").open = false;

const woven = [...document.querySelectorAll(".woven")];
// Sessions get their height as they come into view, so the page's place tells only afterwards where a key has led.
let aimed = null;
for (const kind of ["wheel", "touchmove", "pointerdown"]) addEventListener(kind, () => (aimed = null), { passive: true });
const atHand = () => {
  if (aimed) return woven.indexOf(aimed);
  return woven.filter((session) => session.getBoundingClientRect().top < innerHeight / 3).length - 1;
};
// A session that gets its height after the scroll moves the target away, so it is scrolled to again until that is over.
const settle = (target, frames) => {
  if (!aimed || !frames || location.hash !== `#${target.id}`) return;
  target.scrollIntoView();
  requestAnimationFrame(() => settle(target, frames - 1));
};
const go = (id) => {
  location.hash = id;
  requestAnimationFrame(() => settle(document.getElementById(id), 20));
};
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (!"npqb".includes(event.key)) aimed = null;
  const here = atHand();
  const goal = { n: woven[here + 1], p: woven[Math.max(0, here - 1)] }[event.key];
  if (goal) go((aimed = goal).id);
  else if (event.key === "q" && woven[here]) go((aimed = woven[here]).dataset.questions);
  else if (event.key === "b") history.back();
});

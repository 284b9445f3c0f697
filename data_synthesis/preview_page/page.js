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
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const top = innerHeight / 3;
  const past = woven.filter((session) => session.getBoundingClientRect().top < top);
  const here = past.length - 1;
  const goal = { n: woven[here + 1], p: woven[Math.max(0, here - 1)] }[event.key];
  if (goal) location.hash = goal.id;
  else if (event.key === "q" && woven[here]) location.hash = woven[here].dataset.questions;
  else if (event.key === "b") history.back();
});

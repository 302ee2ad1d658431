/** The style of the HTML report. Light and dark differ in the first lines alone. */

export const style = `
:root{color-scheme:light dark;--bg:light-dark(#fbfbfa,#121215);--panel:light-dark(#fff,#19191d);--sunk:light-dark(#f4f4f2,#222227);--line:light-dark(#e6e5e1,#2d2d34);
--ink:light-dark(#1d1d1b,#edece9);--soft:light-dark(#5c5b57,#b0afaa);--accent:light-dark(#3b5bdb,#8ea2ff);--ok:light-dark(#1f7a33,#69db7c);--bad:light-dark(#c2255c,#ff5f88);--wait:light-dark(#8a5700,#ffb84d);--same:light-dark(#dddcd7,#3a3a42)}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:13px/1.45 Inter,ui-sans-serif,system-ui,"Segoe UI",sans-serif;font-variant-numeric:tabular-nums}
main{padding:20px;max-width:1280px;margin:0 auto}h1{font-size:24px;margin:0;line-height:1.25}h2{font-size:14px;font-weight:600;margin:0;display:inline}h3{font-size:14px;margin:0}
.card{background:var(--panel);border:1px solid var(--line);border-radius:8px;margin:14px 0;overflow:hidden}.pad{padding:12px 18px}.card>header{display:flex;gap:10px;align-items:baseline;padding:12px 18px 6px;flex-wrap:wrap}
.soft,small{color:var(--soft)}.ok{color:var(--ok)}.bad{color:var(--bad)}code{font:12px ui-monospace,monospace;color:var(--soft)}.tag{font-size:11px;border-radius:4px;padding:0 5px;background:var(--sunk);color:var(--soft)}
.vars{display:grid;grid-template-columns:repeat(auto-fit,minmax(230px,1fr))}.vars>div{padding:13px 18px 14px;border-left:1px solid var(--line)}.vars strong{display:block;font-size:29px;line-height:1.2}.vars small{font-size:13px;font-weight:500;margin-left:7px}.vars p{margin:0;color:var(--soft);font-size:12px}
.ci{position:relative;height:12px;margin-top:12px;background:linear-gradient(var(--line) 0 0) 0 50%/100% 1px no-repeat}.ci i{position:absolute;top:3px;height:6px;border-radius:3px;background:color-mix(in srgb,var(--accent) 35%,transparent)}.ci b{position:absolute;top:1px;width:10px;height:10px;margin-left:-5px;border-radius:50%;background:var(--accent)}
table{width:100%;border-collapse:collapse}th,td{text-align:right;padding:6px 18px;font-weight:400;border-top:1px solid var(--line)}th:first-child{text-align:left}td small,th small{display:block;font-size:11px}
.squares{display:flex;flex-wrap:wrap;gap:3px;margin:8px 0}.squares i{width:12px;height:12px;border-radius:2px;background:var(--same)}i.q-worse{background:var(--bad)}i.q-better{background:var(--ok)}i.q-stopped,i.q-failed,i.q-skipped{background:var(--wait)}
details{margin:18px 0}summary{cursor:pointer}.case>header{border-bottom:1px solid var(--line)}.case.q-worse>header{box-shadow:inset 3px 0 var(--bad)}.case.q-better>header{box-shadow:inset 3px 0 var(--ok)}
.ba{display:grid;grid-template-columns:1fr 1fr 220px}.ba>*{padding:11px 18px;margin:0;min-width:0;overflow-wrap:anywhere}.ba>*+*{border-left:1px solid var(--line)}.ba p{margin:0;line-height:1.6;white-space:pre-wrap}.ba ul{list-style:none}.ba li{display:flex;justify-content:space-between;gap:8px}
del{background:color-mix(in srgb,var(--bad) 17%,transparent);border-radius:3px;padding:0 2px}ins{background:color-mix(in srgb,var(--ok) 19%,transparent);text-decoration:none;border-radius:3px;padding:0 2px}
@media(max-width:760px){main{padding:12px}.ba{grid-template-columns:1fr}.ba>*+*{border-left:0;border-top:1px solid var(--line)}}
`;

/** Texts that would run code, load something or change the page, if any of them were taken for markup. */

const call = "__hit()";

const tags = [
  `<script>${call}</script>`,
  `<img src=x onerror=${call}>`,
  `<svg onload=${call}>`,
  `<svg><script>${call}</script></svg>`,
  `<iframe srcdoc="<script>parent.${call}</script>"></iframe>`,
  `<body onload=${call}>`,
  `<details open ontoggle=${call}>`,
  `<video><source onerror=${call}></video>`,
  `<input autofocus onfocus=${call}>`,
  `<math><mtext><script>${call}</script></mtext></math>`,
  `<a href="javascript:${call}">x</a>`,
  `<form action="javascript:${call}"><button>x</button></form>`,
  `<object data="javascript:${call}"></object>`,
  `<embed src="javascript:${call}">`,
  `<link rel=stylesheet href=//evil.example/x.css>`,
  `<meta http-equiv=refresh content="0;url=//evil.example">`,
  `<base href=//evil.example/>`,
  `<style>@import "//evil.example/x.css";</style>`,
  `<img src="//evil.example/pixel.png">`,
  `![x](https://evil.example/pixel.png)`,
  `[x](javascript:${call})`,
  `<template><script>${call}</script></template>`,
  `<noscript><p title="</noscript><img src=x onerror=${call}>">`,
  `{{constructor.constructor('${call}')()}}`,
  "${" + call + "}",
];

const wrappers: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `"><${text.slice(1)}`,
  (text) => `'>${text}`,
  (text) => `</title></textarea></script>${text}`,
  (text) => `--><!--${text}`,
  (text) => `]]>${text}`,
  (text) => text.toUpperCase().replaceAll("__HIT", "__hit"),
  (text) => text.replaceAll("<", "\u003c").replaceAll(" ", "\n"),
  (text) => text.replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
  (text) => text.replaceAll("<", "&#60;"),
  (text) => `\u202e${text}`,
  (text) => `{"dangerouslySetInnerHTML":{"__html":${JSON.stringify(text)}}}`,
  (text) => `\\u003c${text}`,
  (text) => `<x ${text}`,
  (text) => `javascript:/*${text}*/${call}`,
  (text) => `data:text/html,${text}`,
  (text) => `\u0000${text}`,
  (text) => text.repeat(3),
  (text) => `<plaintext>${text}`,
  (text) => `__proto__${text}`,
];

/** 500 texts, each with a number. */
export const payloads: readonly string[] = tags
  .flatMap((tag) => wrappers.map((wrap) => wrap(tag)))
  .map((text, i) => `${text}${i}`);

/** The same as names: what a name may not contain is left out. */
export const names: readonly string[] = payloads.map((text) =>
  text.replaceAll(/[#/[\]\p{Cc}\p{Cs}]/gu, "").slice(0, 120),
);

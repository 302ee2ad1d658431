/**
 * The page behind a resume link. It has no scripts and loads nothing.
 *
 * P1. It is the same for every token and contains no token: the form posts to the address of the page.
 *
 * Proven in test/resume.test.ts.
 */

import { safeHeaders } from "./errors.ts";

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem}
textarea{width:100%;min-height:6rem;font:inherit}
button{font:inherit;padding:.5rem 1.5rem;margin-top:1rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid;padding:.5rem}`;

/** SHA-256 of the style, the only one the policy allows. A test keeps the two equal. */
const styleHash = "3VAlkFiELH2f08Kv6WEmdA8e7VjR0CC3YhwU1WGU3dI=";

const headers = {
  ...safeHeaders,
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  "x-frame-options": "DENY",
  "x-robots-tag": "noindex, nofollow",
};

/** Asks for the answer, or for confirmation of the answer in the link. */
export function confirmPage(value: string | null): Response {
  const field =
    value === null
      ? `<p><label>Your answer<br><textarea name="value" required></textarea></label></p>`
      : `<p>Your answer:</p><pre>${escape(value)}</pre><input type="hidden" name="value" value="${escape(value)}">`;
  return page(
    200,
    "Confirm",
    `<p>Nothing has been sent yet.</p><form method="post">${field}<button>Send</button></form>`,
  );
}

/** Shows the result of the answer. */
export function resultPage(status: number, title: string, text: string): Response {
  return page(status, title, `<p>${escape(text)}</p>`);
}

function page(status: number, title: string, body: string): Response {
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>${style}</style></head>
<body><h1>${title}</h1>
${body}
</body></html>
`;
  return new Response(html, { status, headers });
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  // Raw line breaks would be normalized to CRLF and sent back as two characters.
  "\r": "&#13;",
  "\n": "&#10;",
};

function escape(text: string): string {
  return text.replace(/[&<>"'\r\n]/g, (letter) => entities[letter] as string);
}

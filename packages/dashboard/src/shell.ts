/** The HTML of the page: nothing but its script and its style. */

/** `basePath` was checked: it contains no characters that mean something in HTML. */
export function shell(basePath: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="durable-base" content="${basePath}">
<title>durable</title>
<link rel="stylesheet" href="${basePath}/app.css">
<script type="module" src="${basePath}/app.js"></script>
</head>
<body><div id="app"><noscript>This page needs JavaScript.</noscript></div></body>
</html>
`;
}

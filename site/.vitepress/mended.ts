/**
 * Parts of the theme that assistive technology cannot use as they are. Each text is replaced when the site is built, and a build
 * fails when the theme no longer has it: then the entry goes, or follows.
 */
const mends: Readonly<Record<string, readonly (readonly [from: string | RegExp, to: string])[]>> = {
  // In the sidebar a button stands in a button. The outer one does the same.
  "VPSidebarItem.vue": [
    [/(class="caret"\s+)role="button"\s+aria-label="toggle section"/, "$1"],
    [/(@click="onCaretClick"[\s\S]*?)\s+tabindex="0"/, "$1"],
  ],
  // The search is a button around all of its parts, with options that contain links. It is a dialog with a list of links.
  "VPLocalSearchBox.vue": [
    [
      /role="button"\s+:aria-owns="[^"]*"\s+aria-expanded="true"\s+aria-haspopup="listbox"/,
      'role="dialog" aria-modal="true"',
    ],
    [/:aria-activedescendant="[^"]*"\s+aria-autocomplete="both"/, ""],
    [/:role="results\?\.length \? 'listbox' : undefined"/, ""],
    [/:aria-selected="[^"]*"\s+role="option"/, ""],
    [/:aria-label="\[\.\.\.p\.titles, p\.title\]\.join\(' > '\)"/, ""],
    // Keys are pictures of arrows, whose names are for readers.
    [/<kbd :aria-label=/g, '<kbd role="img" :aria-label='],
  ],
  "NotFound.vue": [
    ['<div class="NotFound">', '<div class="NotFound" role="main">'],
    [/:aria-label="theme\.notFound[^"]*"/, ""],
  ],
};

export const mended = {
  name: "mended",
  enforce: "pre" as const,
  transform(code: string, id: string): string | null {
    const name = Object.keys(mends).find((file) => id.endsWith(`/${file}`));
    if (name === undefined) return null;
    return (mends[name] ?? []).reduce((text, [from, to]) => {
      const better = text.replace(from, to);
      if (better === text) throw new Error(`${name} of the theme has changed: see .vitepress/mended.ts.`);
      return better;
    }, code);
  },
};

/**
 * Recorded text can hold characters that change the order of others, or that nobody sees: an approval may then read otherwise than
 * it is. Every text that the page draws has them as names. What is edited stays as it is.
 */

import { Fragment, options, type VNode } from "preact";

/** Controls but tab and line ends, marks of direction, what has no width, private use, and tags. */
const hidden =
  /(?![\t\n\r])\p{Cc}|\p{Co}|[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** A text with what is hidden in it as names, such as "⟨U+202E⟩". */
export function visible(text: string): string {
  return text.replaceAll(
    hidden,
    (char) => `⟨U+${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}

type Props = Record<string, unknown> & { children?: unknown };

function shown(children: unknown): unknown {
  if (typeof children === "string") return visible(children);
  return Array.isArray(children) ? children.map(shown) : children;
}

function hasRightToLeft(children: unknown): boolean {
  if (Array.isArray(children)) return children.some(hasRightToLeft);
  return typeof children === "string" && rightToLeft.test(children);
}

/** Applies it to every element that is drawn from now on. */
export function drawVisibly(): void {
  const before = options.vnode?.bind(options);
  options.vnode = (vnode: VNode) => {
    const props = vnode.props as Props;
    // Its texts stand in the element around it.
    if (vnode.type === Fragment) props.children = shown(props.children);
    if (typeof vnode.type === "string") {
      // A text that is read from the right is cut at its own end.
      if (props["dir"] === undefined && hasRightToLeft(props.children)) props["dir"] = "auto";
      if (props.children !== undefined) props.children = shown(props.children);
      for (const name of ["title", "aria-label"])
        if (typeof props[name] === "string") props[name] = visible(props[name]);
    }
    before?.(vnode);
  };
}

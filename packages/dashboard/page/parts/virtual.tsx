/**
 * A long list of which only the lines in view exist. All lines have one height, so a place is a multiplication.
 */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Lines above and below the view that exist as well, so that scrolling shows no gaps. */
const spare = 8;

export interface VirtualProps {
  readonly count: number;
  readonly height: number;
  readonly label: string;
  readonly role: "grid" | "listbox" | "list";
  readonly render: (index: number) => ComponentChildren;
  /** Keeps this line in view when it changes. */
  readonly shown?: number;
  /** Called with the lines in view. */
  readonly onView?: (first: number, last: number) => void;
  /** When it changes, the lines in view are reported again. */
  readonly version?: unknown;
  readonly active?: string | undefined;
  readonly onKeyDown?: ((event: KeyboardEvent) => void) | undefined;
  /** Drawn behind the lines, over the whole height. */
  readonly behind?: ComponentChildren;
  readonly class?: string;
  /** It scrolls with the page, and not by itself. */
  readonly page?: boolean;
  readonly header?: ComponentChildren;
}

/** What of the list is in view, in pixels; and what to call when it may have changed. */
function useView(scroller: { readonly current: HTMLDivElement | null }, props: VirtualProps): View {
  const { count, height } = props;
  const [view, setView] = useState({ top: 0, space: 800 });
  const look = (): void => {
    const { scrollTop, clientHeight } = placeOf(scroller.current, props.page === true);
    setView((old) =>
      Math.floor(old.top / height) === Math.floor(scrollTop / height) && old.space === clientHeight
        ? old
        : { top: scrollTop, space: clientHeight },
    );
  };
  useLayoutEffect(look, [count]);
  useEffect(() => {
    const observer = new ResizeObserver(look);
    if (scroller.current !== null) observer.observe(scroller.current);
    if (props.page === true) {
      window.addEventListener("scroll", look, { passive: true });
      window.addEventListener("resize", look);
    }
    return () => {
      observer.disconnect();
      window.removeEventListener("scroll", look);
      window.removeEventListener("resize", look);
    };
  }, []);
  return { ...view, look };
}

interface View {
  readonly top: number;
  readonly space: number;
  readonly look: () => void;
}

export function Virtual(props: VirtualProps): JSX.Element {
  const { count, height, onView, shown } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const { top, space, look } = useView(scroller, props);
  const first = Math.max(0, Math.floor(top / height) - spare);
  const last = Math.min(count - 1, Math.ceil((top + space) / height) + spare);
  useEffect(() => onView?.(first, last), [first, last, count, props.version]);
  useEffect(() => {
    if (props.page === true) revealInPage(scroller.current, shown ?? -1, height);
    else reveal(scroller.current, shown ?? -1, height);
  }, [shown]);
  return (
    <div
      ref={scroller}
      class={`virtual ${props.page === true ? "in-page" : ""} ${props.class ?? ""}`}
      onScroll={look}
      tabIndex={0}
      role={props.role}
      aria-label={props.label}
      aria-rowcount={props.role === "grid" ? count + 1 : undefined}
      aria-activedescendant={props.active}
      onKeyDown={props.onKeyDown}
    >
      {props.header}
      <div
        class="virtual-space"
        role={props.role === "grid" ? "rowgroup" : "presentation"}
        style={{ height: `${count * height}px` }}
      >
        {props.behind}
        <div
          class="virtual-lines"
          role="presentation"
          style={{ transform: `translateY(${first * height}px)` }}
        >
          {Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => props.render(first + i))}
        </div>
      </div>
    </div>
  );
}

/** What of the list is in view. */
function placeOf(list: HTMLElement | null, isPage: boolean): { scrollTop: number; clientHeight: number } {
  if (!isPage || list === null)
    return { scrollTop: list?.scrollTop ?? 0, clientHeight: list?.clientHeight ?? 0 };
  return { scrollTop: Math.max(0, -list.getBoundingClientRect().top), clientHeight: window.innerHeight };
}

function revealInPage(list: HTMLElement | null, index: number, height: number): void {
  if (list === null || index < 0) return;
  const head = list.querySelector<HTMLElement>(".virtual-head")?.offsetHeight ?? 0;
  const top = list.getBoundingClientRect().top + head + index * height;
  // The foot of the page and the head of the list cover some of it.
  const [first, last] = [head + 8, window.innerHeight - height - 48];
  if (top < first) window.scrollBy(0, top - first);
  else if (top > last) window.scrollBy(0, top - last);
}

function reveal(scroller: HTMLElement | null, index: number, height: number): void {
  if (scroller === null || index < 0) return;
  const [top, bottom] = [index * height, (index + 1) * height];
  const head = scroller.querySelector<HTMLElement>(".virtual-head")?.offsetHeight ?? 0;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (bottom + head > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = bottom + head - scroller.clientHeight;
}

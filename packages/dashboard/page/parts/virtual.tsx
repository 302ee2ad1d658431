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
  readonly header?: ComponentChildren;
}

export function Virtual(props: VirtualProps): JSX.Element {
  const { count, height, onView, shown } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, space: 800 });
  const first = Math.max(0, Math.floor(view.top / height) - spare);
  const last = Math.min(count - 1, Math.ceil((view.top + view.space) / height) + spare);
  const look = (): void => {
    const { scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
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
    return () => observer.disconnect();
  }, []);
  useEffect(() => onView?.(first, last), [first, last, count, props.version]);
  useEffect(() => reveal(scroller.current, shown ?? -1, height), [shown]);
  return (
    <div
      ref={scroller}
      class={`virtual ${props.class ?? ""}`}
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

function reveal(scroller: HTMLElement | null, index: number, height: number): void {
  if (scroller === null || index < 0) return;
  const [top, bottom] = [index * height, (index + 1) * height];
  const head = scroller.querySelector<HTMLElement>(".virtual-head")?.offsetHeight ?? 0;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (bottom + head > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = bottom + head - scroller.clientHeight;
}

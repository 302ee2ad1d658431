/** Two panes with a divider that can be dragged, or moved by arrow keys. On a narrow page one is above the other. */

import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";

const [least, most] = [30, 80];

export function Split({ left, right }: { left: ComponentChildren; right: ComponentChildren }): JSX.Element {
  const [share, setShare] = useState(60);
  const box = useRef<HTMLDivElement>(null);
  const set = (value: number): void => setShare(Math.min(most, Math.max(least, value)));
  const drag = (event: PointerEvent): void => {
    const { left: from, width } = box.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
    set(((event.clientX - from) / width) * 100);
  };
  return (
    <div class="split" ref={box} style={{ "--share": `${share}%` }}>
      <div class="split-left">{left}</div>
      <div
        class="divider"
        role="separator"
        aria-orientation="vertical"
        aria-label="Width of the timeline"
        aria-valuenow={Math.round(share)}
        aria-valuemin={least}
        aria-valuemax={most}
        tabIndex={0}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) drag(event);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowLeft") set(share - 2);
          if (event.key === "ArrowRight") set(share + 2);
        }}
      />
      <div class="split-right">{right}</div>
    </div>
  );
}

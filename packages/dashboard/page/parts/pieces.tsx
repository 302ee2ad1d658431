/** The difference of two texts, as one of them shows it. */

import type { JSX } from "preact";
import type { Piece } from "../lib/words.ts";

export function Pieces({ all }: { all: readonly Piece[] }): JSX.Element {
  return (
    <>
      {all.map(({ text, change }, i) =>
        change === "same" ? (
          <span key={i}>{text}</span>
        ) : change === "gone" ? (
          <del key={i}>{text}</del>
        ) : (
          <ins key={i}>{text}</ins>
        ),
      )}
    </>
  );
}

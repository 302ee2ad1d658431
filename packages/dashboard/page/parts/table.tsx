/** A small table. Long ones are lists of their own. */

import type { ComponentChildren, JSX } from "preact";

export function Table(props: {
  label: string;
  columns: readonly string[];
  rows: readonly (readonly ComponentChildren[])[];
}): JSX.Element {
  const { label, columns, rows } = props;
  return (
    <div class="table" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((name, i) => (
              <th key={i} scope="col">
                {name === "" ? <span class="vh">Actions</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, i) => (
            <tr key={i}>
              {cells.map((cell, j) => (
                <td key={j}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The files of the page, as the build put them here. Run from its sources, this package uses page/bundle.ts instead. */

declare const DASHBOARD_SCRIPT: string;
declare const DASHBOARD_STYLE: string;

/** The script and the style of the page, minified. */
export interface Page {
  readonly script: string;
  readonly style: string;
}

export function page(): Promise<Page> {
  return Promise.resolve({ script: DASHBOARD_SCRIPT, style: DASHBOARD_STYLE });
}

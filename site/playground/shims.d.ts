/** What the bundler makes of imports with a query. */
declare module "*?raw" {
  const text: string;
  export default text;
}
declare module "*?worker&inline" {
  export default class extends Worker {
    constructor();
  }
}
declare module "*.css" {}

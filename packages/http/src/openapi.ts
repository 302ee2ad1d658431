/** The OpenAPI 3.1 description of the handler. */
export function openApi(_options: { readonly basePath?: string } = {}): Record<string, unknown> {
  throw new Error("to come");
}

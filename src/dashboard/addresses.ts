/**
 * The addresses of pages. All are relative, of one segment, and carry names in their query: so the dashboard works under any path and
 * behind any proxy without being told where it is, and no name of a queue can become part of a path.
 */

/** Fields of a query; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** `queue?connection=redis&name=mail`; of the overview `./`. */
export function address(page: string, query: Query = {}): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) fields.append(name, String(value));
  const text = fields.toString();
  return `${page === '' ? './' : page}${text === '' ? '' : `?${text}`}`;
}

/** Of the page or the action that is asked for; empty: of the first page. */
export function nameIn({ pathname }: URL): string {
  return pathname.slice(pathname.lastIndexOf('/') + 1);
}

/** Whether it leads to a page of the dashboard, and nowhere else. What no header can hold, which are ASCII, is no address. */
export function isOwnAddress(text: string): boolean {
  return /^(\.\/|[a-z]+(-[a-z]+)*)(\?[!"$-[\]-~]*)?$/.test(text);
}

/**
 * The addresses of pages. All are relative, of one segment, and carry names in their query: so the dashboard works under any path
 * and behind any proxy without knowing where it is, and no queue name can become part of a path.
 */

/** The fields of a query; undefined ones are omitted. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** `queue?connection=redis&name=mail`; `./` for the overview. */
export function address(page: string, query: Query = {}): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) fields.append(name, String(value));
  const text = fields.toString();
  return `${page === '' ? './' : page}${text === '' ? '' : `?${text}`}`;
}

/** The name of the requested page or action; empty for the first page. */
export function nameIn({ pathname }: URL): string {
  return pathname.slice(pathname.lastIndexOf('/') + 1);
}

/** The list that a field of an address or a form contains as JSON; empty if it is none. */
export function listIn(text: string): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/** The given address, if it leads to a page of the dashboard; otherwise the first page. */
export function ownAddress(given: string | null): string {
  return given !== null && isOwnAddress(given) ? given : './';
}

/** Whether the address leads to a page of the dashboard, and nowhere else. Only ASCII, because headers can hold nothing else. */
export function isOwnAddress(text: string): boolean {
  return /^(\.\/|[a-z]+(-[a-z]+)*)(\?[!"$-[\]-~]*)?$/.test(text);
}

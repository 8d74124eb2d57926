/** A request as the dashboard sees it, independent of the server: its form, its cookies, and where it comes from. */
import { formCut, formTooLarge } from '../errors';
import { type Answer, plainAnswer } from './answer';

export interface DashboardRequest {
  readonly method: string;
  /** Path and query as requested from the server: `/jobs/queue?name=mail`. */
  readonly url: URL;
  /** The path under which the framework has mounted the dashboard, if it says so. */
  readonly mountPath: string | undefined;
  /** The value of a header, by its lower-case name. */
  readonly headers: (name: string) => string | undefined;
  /** It came by TLS, as far as the server can tell. */
  readonly isSecure: boolean;
  /** The address of the sender, or of its proxy. Undefined if the server does not tell. */
  readonly address: string | undefined;
  /** The fields of a form of up to this many bytes. @throws E_DASHBOARD_FORM, E_DASHBOARD_FORM_SIZE, E_DASHBOARD_FORM_CUT */
  readonly form: (most?: number) => Promise<URLSearchParams>;
  /** What `authorize` is called with: the request of the framework. */
  readonly subject: unknown;
}

/**
 * Whether a program asks, which wants data. A browser's token may come from a proxy in front of us, but its forms accept HTML.
 */
export function isProgram({ headers }: DashboardRequest): boolean {
  const accepted = headers('accept') ?? '';
  if (accepted.includes('text/html')) return false;
  return accepted.includes('application/json') || /^bearer /i.test(headers('authorization') ?? '');
}

/** Reads a form up to its end, or until it is too large. @throws E_DASHBOARD_FORM_SIZE, E_DASHBOARD_FORM_CUT */
export async function readForm(incoming: AsyncIterable<Uint8Array>, most = LARGEST_FORM): Promise<URLSearchParams> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const part of incoming) {
      size += part.length;
      if (size > most) break;
      parts.push(part);
    }
  } catch {
    throw formCut();
  }
  if (size > most) throw formTooLarge(most, 'bytes');
  return new URLSearchParams(Buffer.concat(parts).toString());
}

/** Bytes of a form: enough for some thousand ids of jobs. */
const LARGEST_FORM = 1024 * 1024;

/** The answer to a change that was not sent by a page of the dashboard, but by another site. Undefined if it comes from here. */
export function refusalOf(request: DashboardRequest): Answer | undefined {
  if (isSameOrigin(request)) return undefined;
  return plainAnswer(403, 'This was not sent by a page of the dashboard, so it is refused.');
}

function isSameOrigin({ headers }: DashboardRequest): boolean {
  const site = headers('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  const origin = headers('origin');
  if (origin !== undefined) return hostsOf(headers).includes(hostOf(origin));
  // Not a browser, because browsers send one of the two headers with each form: a program with a token of its own.
  return /^bearer /i.test(headers('authorization') ?? '');
}

/**
 * The hosts that the browser may have asked for. A proxy replaces the host and passes on the original; no other site can make a
 * browser send that header, so it can be trusted here.
 */
function hostsOf(headers: DashboardRequest['headers']): readonly (string | undefined)[] {
  const forwarded = headers('x-forwarded-host')?.split(',') ?? [];
  return [headers('host') ?? '', ...forwarded.map((host) => host.trim())];
}

/** Undefined if the origin is `null`, as for a sandboxed page. */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

/** All cookies of this name: there may be several, for different paths and hosts. */
export function cookiesNamed(header: string, name: string): readonly string[] {
  const cookies = header.split(/;\s*/).filter((cookie) => cookie.startsWith(`${name}=`));
  return cookies.map((cookie) => cookie.slice(name.length + 1));
}

/** Other sites cannot make a browser send the cookie, and no script can read it. */
export function cookieAttributes(isSecure: boolean): string {
  return `; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}

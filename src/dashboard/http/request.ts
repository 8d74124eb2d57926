/** A request as the dashboard sees it, whichever server it came through. */

export interface DashboardRequest {
  readonly method: string;
  /** Path and query as the server was asked for them: `/jobs/queue?name=mail`. */
  readonly url: URL;
  /** Under which path the framework has mounted the dashboard, if it says so. */
  readonly mountPath: string | undefined;
  /** The value of a header, by its name in small letters. */
  readonly headers: (name: string) => string | undefined;
  /** It came by TLS, as far as the server can tell. */
  readonly isSecure: boolean;
  /** Who sent it, or the proxy that did. Undefined: the server does not tell. */
  readonly address: string | undefined;
  /** What a form has sent, of so many bytes at most. @throws E_DASHBOARD_FORM, E_DASHBOARD_FORM_SIZE, E_DASHBOARD_FORM_CUT */
  readonly form: (most?: number) => Promise<URLSearchParams>;
  /** What `authorize` is asked about: the request of the framework. */
  readonly subject: unknown;
}

/**
 * Whether it is a program that asks, which reads data and follows no page. A browser may have a token too, of the proxy before us; what
 * it sends with a form says that it takes HTML.
 */
export function isProgram({ headers }: DashboardRequest): boolean {
  const accepted = headers('accept') ?? '';
  if (accepted.includes('text/html')) return false;
  return accepted.includes('application/json') || /^bearer /i.test(headers('authorization') ?? '');
}

/** Bytes of a form: some thousand ids of jobs. */
export const LARGEST_FORM = 1024 * 1024;

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
  /** What a form has sent. @throws E_DASHBOARD_FORM */
  readonly form: () => Promise<URLSearchParams>;
  /** What `authorize` is asked about: the request of the framework. */
  readonly subject: unknown;
}

/** Bytes of a form: some thousand ids of jobs. */
export const LARGEST_FORM = 1024 * 1024;

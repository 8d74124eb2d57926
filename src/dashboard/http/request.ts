/** A request as the dashboard sees it, independent of the server. */
import { formCut, formTooLarge } from '../errors';

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
 * Whether a program asks, which wants data instead of pages. A browser may have a token too, from a proxy in front of us, but its
 * forms accept HTML.
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
  if (size > most) throw formTooLarge(most);
  return new URLSearchParams(Buffer.concat(parts).toString());
}

/** Bytes of a form: enough for some thousand ids of jobs. */
const LARGEST_FORM = 1024 * 1024;

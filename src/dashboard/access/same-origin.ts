/**
 * Whether a request that changes something comes from a page of the dashboard itself, and not from another site that the viewer
 * visits.
 */
import { type Answer, plainAnswer } from '../http/answer';
import type { DashboardRequest } from '../http/request';

/** The answer to a request from elsewhere. Undefined if it comes from here. */
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

/** Whether a request that changes something comes from a page of the dashboard itself, and not from another site that the viewer visits. */
import type { DashboardRequest } from '../http/request';

export function isSameOrigin({ headers }: DashboardRequest): boolean {
  const site = headers('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  const origin = headers('origin');
  if (origin !== undefined) return hostsOf(headers).includes(hostOf(origin));
  // No browser: a program that has a token of its own. A browser sends one of the two with each form.
  return /^bearer /i.test(headers('authorization') ?? '');
}

/**
 * What the browser may have asked for. A proxy puts another host in its place and tells the first one behind: no other site can
 * have a browser send that header, so it may be believed here.
 */
function hostsOf(headers: DashboardRequest['headers']): readonly (string | undefined)[] {
  const forwarded = headers('x-forwarded-host')?.split(',') ?? [];
  return [headers('host') ?? '', ...forwarded.map((host) => host.trim())];
}

/** Undefined: it is `null`, as of a page in a sandbox. */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

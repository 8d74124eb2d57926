/** Whether a request that changes something comes from a page of the dashboard itself, and not from another site that the viewer visits. */
import type { DashboardRequest } from '../http/request';

export function isSameOrigin({ headers }: DashboardRequest): boolean {
  const site = headers('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  const origin = headers('origin');
  if (origin !== undefined) return hostOf(origin) === headers('host');
  // No browser: a program that has a token of its own. A browser sends one of the two with each form.
  return /^bearer /i.test(headers('authorization') ?? '');
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host;
  } catch {
    return undefined;
  }
}

/** What was done, for the next page to show. Kept in a cookie until then, so that any process can show it. */
import { isOwnAddress } from '../addresses';
import { ACTIONS } from './actions';
import { cookieAttributes, cookiesNamed } from '../http/cookies';
import type { DashboardRequest } from '../http/request';
import type { ActionButton } from '../parts/action-form';

type Undo = Pick<ActionButton, 'action' | 'fields' | 'label'>;

export interface Notice {
  readonly text: string;
  /** Where to see more of it. */
  readonly link?: { readonly address: string; readonly label: string } | undefined;
  readonly undo?: Undo | undefined;
}

const COOKIE = 'onqueue-notice';
/** In characters: browsers keep cookies of 4096 bytes. */
const LONGEST = 600;
/** Seconds that it is kept until it is shown. */
const KEPT = 60;

/** Headers that make the next page show it. */
export function leaveNotice(
  { text: given, undo, link }: Notice,
  { isSecure }: DashboardRequest,
): Readonly<Record<string, string>> {
  // A name in it with characters that change the direction of writing would affect all that follows.
  const text = given.replace(/[\u202A-\u202E\u2066-\u2069]/g, '');
  const value = encodeURIComponent(JSON.stringify({ text: text.slice(0, LONGEST).toWellFormed(), undo, link }));
  const told =
    value.length > 3500 ? encodeURIComponent(JSON.stringify({ text: text.slice(0, 200).toWellFormed() })) : value;
  return { 'set-cookie': `${COOKIE}=${told}; Max-Age=${KEPT}${cookieAttributes(isSecure)}` };
}

/** The notice that was left, and headers that remove it. */
export function takeNotice({ headers, isSecure }: DashboardRequest): {
  readonly notice: Notice | undefined;
  readonly headers: Readonly<Record<string, string>>;
} {
  const [value] = cookiesNamed(headers('cookie') ?? '', COOKIE);
  if (value === undefined) return { notice: undefined, headers: {} };
  return {
    notice: readNotice(value),
    headers: { 'set-cookie': `${COOKIE}=; Max-Age=0${cookieAttributes(isSecure)}` },
  };
}

/** A browser may send anything: whatever is not a notice is ignored. */
function readNotice(value: string): Notice | undefined {
  try {
    const { text, undo, link } = JSON.parse(decodeURIComponent(value)) as Partial<Notice>;
    if (typeof text !== 'string') return undefined;
    return { text, undo: isUndo(undo) ? undo : undefined, link: isLink(link) ? link : undefined };
  } catch {
    return undefined;
  }
}

function isLink(link: Partial<NonNullable<Notice['link']>> | undefined): link is NonNullable<Notice['link']> {
  return typeof link?.label === 'string' && typeof link.address === 'string' && isOwnAddress(link.address);
}

/**
 * Whoever can set a cookie here must not be able to trick a viewer, by a misleading button, into an action that would normally be
 * confirmed.
 */
function isUndo(undo: Partial<Undo> | undefined): undo is Undo {
  return (
    typeof undo === 'object' &&
    undo !== null &&
    typeof undo.label === 'string' &&
    typeof undo.action === 'string' &&
    Object.hasOwn(ACTIONS, undo.action) &&
    ACTIONS[undo.action]?.ask === undefined &&
    typeof undo.fields === 'object' &&
    Object.values(undo.fields ?? {}).every((field) => typeof field === 'string')
  );
}

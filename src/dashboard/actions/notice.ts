/** What was done, as the next page tells it: in a cookie that lives until then, so that it is told in any process. */
import { isOwnAddress } from '../addresses';
import { ACTIONS } from './actions';
import { cookieAttributes, cookiesNamed } from '../http/cookies';
import type { DashboardRequest } from '../http/request';

export interface Undo {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  /** What the button says: `Resume`. */
  readonly label: string;
}

export interface Notice {
  readonly text: string;
  /** Where more of it is to be seen. */
  readonly link?: { readonly address: string; readonly label: string } | undefined;
  readonly undo?: Undo | undefined;
}

const COOKIE = 'onqueue-notice';
/** Characters: browsers keep cookies of 4096 bytes. */
const LONGEST = 600;
/** Seconds until it is told. */
const KEPT = 60;

/** Headers that have the next page tell it. */
export function leaveNotice(
  { text: given, undo, link }: Notice,
  { isSecure }: DashboardRequest,
): Readonly<Record<string, string>> {
  // A name in it that turns the direction of writing would turn all that follows.
  const text = given.replace(/[\u202A-\u202E\u2066-\u2069]/g, '');
  const value = encodeURIComponent(JSON.stringify({ text: text.slice(0, LONGEST).toWellFormed(), undo, link }));
  const told =
    value.length > 3500 ? encodeURIComponent(JSON.stringify({ text: text.slice(0, 200).toWellFormed() })) : value;
  return { 'set-cookie': `${COOKIE}=${told}; Max-Age=${KEPT}${cookieAttributes(isSecure)}` };
}

/** What was left, and headers that take it away. */
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

/** A browser sends what it likes: what is no notice is none. */
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

/** Whoever can leave a cookie here must not have a viewer do what is asked about first, by a button that says something else. */
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

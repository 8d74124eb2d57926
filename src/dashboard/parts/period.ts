/** How far back a page looks: one of some usual times until now, or a part of the past that its address names. */
import type { Milliseconds } from '../../base/clock';
import { spanText } from '../../base/span';
import { address, type Query } from '../addresses';
import { neededField } from '../errors';
import type { Html } from '../html';
import { type Tab, tabs } from './links';

/** Each with its name, and for how long what was read of it stays fresh: workers bring new figures every ten seconds, and old ones rarely change. */
const RANGES = {
  '15m': ['15 min', 20_000],
  '1h': ['hour', 20_000],
  '24h': ['day', 60_000],
  '7d': ['week', 300_000],
  '30d': ['month', 300_000],
} as const;

type Range = keyof typeof RANGES;

const LONGEST: Milliseconds = 30 * 86_400_000;

export interface Period {
  /** `1h` */
  readonly within: string;
  /** Undefined: until now. */
  readonly until: Date | undefined;
  /** `in the last hour` */
  readonly text: string;
  readonly fresh: Milliseconds;
  /** As the address says it. */
  readonly query: Query;
}

/** @throws E_DASHBOARD_QUERY the address names no such time */
export function periodIn(query: URLSearchParams): Period {
  const { from, to } = bounds(query);
  if (from === undefined || to === undefined) return usual(query.get('within') ?? '1h');
  if (to <= from) throw neededField('to');
  if (to - from > LONGEST) throw neededField('from');
  return {
    within: `${Math.ceil((to - from) / 1000)}s`,
    until: new Date(to),
    text: `in ${spanText(to - from)}`,
    fresh: RANGES['7d'][1],
    query: { from: new Date(from).toISOString(), to: new Date(to).toISOString() },
  };
}

function usual(within: string): Period {
  if (!Object.hasOwn(RANGES, within)) throw neededField('within');
  const [name, fresh] = RANGES[within as Range];
  return { within, until: undefined, text: `in the last ${name}`, fresh, query: { within } };
}

/** The moments in the address. @throws E_DASHBOARD_QUERY they are none */
export function bounds(query: URLSearchParams): { readonly from?: Milliseconds; readonly to?: Milliseconds } {
  const moments = (['from', 'to'] as const).flatMap((field) => {
    const given = query.get(field) ?? '';
    if (given === '') return [];
    // As <input type="datetime-local"> writes it, it has no zone: everything is in UTC.
    const at = Date.parse(/T[\d:.]+$/.test(given) ? `${given}Z` : given);
    if (Number.isNaN(at)) throw neededField(field);
    return [[field, at] as const];
  });
  return Object.fromEntries(moments);
}

/** @param query the other fields of the page's address */
export function rangeLinks(page: string, query: Query, { within, until }: Period): Html {
  const link = ([range, [name]]: readonly [string, readonly [string, number]]): Tab => [
    name,
    address(page, { ...query, within: range }),
    until === undefined && range === within,
  ];
  return tabs('How far the charts look back', Object.entries(RANGES).map(link), 'ranges');
}

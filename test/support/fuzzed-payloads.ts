/**
 * Damaged and malicious payloads: what a broken producer, a bad disk or an attacker may leave in a queue. The same seed
 * gives the same payloads.
 */

/** The job in the undamaged payloads. Its `key` tells which of them ran. */
export const FUZZED_JOB = 'Fuzzed';

/** In the data of every payload, and therefore in no log line and no error. */
export const MARKER = 'secret-7f3a9c4d';

export interface FuzzedPayload {
  readonly bytes: Buffer;
  /** How it was damaged. */
  readonly change: string;
}

type Tree = Record<string | number, unknown>;

/** An undamaged payload. Its key is `good-` and the number. */
export function goodPayload(number: number): Buffer {
  return Buffer.from(JSON.stringify(tree(`good-${number}`, `019c7d7a-0000-7000-8000-${padded(number)}`)));
}

/** `count` damaged payloads with distinct ids. If one is still a job, its key does not begin with `good-`. */
export function fuzzedPayloads(seed: number, count: number): readonly FuzzedPayload[] {
  const dice = new Dice(seed);
  const ids = new Set<string>();
  const payloads: FuzzedPayload[] = [];
  while (payloads.length < count) {
    const number = payloads.length;
    const base = dice.pick(FORMS)(`bad-${number}`, `019c7d7a-ffff-7000-8000-${padded(number)}`);
    const [change, damage] = dice.pick(DAMAGES);
    const bytes = damage(base, dice);
    const { id, told } = outsideOf(bytes);
    // Two with the same id would be one in the failed store. A name that contains the marker is not data.
    if ((id !== undefined && ids.has(id)) || told.includes(MARKER)) continue;
    if (id !== undefined) ids.add(id);
    payloads.push({ bytes, change });
  }
  return payloads;
}

const padded = (number: number): string => String(number).padStart(12, '0');

function tree(key: string, id: string): Tree {
  const command = {
    key,
    secret: MARKER,
    note: `before ${MARKER} after`,
    at: '2026-11-21T00:00:00.000Z',
    map: [['a', '12345678901234567890']],
    bytes: 'b25xdWV1ZQ==',
    pattern: { source: '^a+$', flags: 'gi' },
    link: 'https://example.org/a?b=c',
    list: [1, 'two', null, true, { deep: [[], {}] }, 'ä € 漢 😀'],
  };
  const types = {
    '/at': 'Date',
    '/map': 'Map',
    '/map/0/1': 'bigint',
    '/bytes': 'Buffer',
    '/pattern': 'RegExp',
    '/link': 'URL',
  };
  const data = { commandName: FUZZED_JOB, command, types };
  const chosen = { maxTries: 1, backoff: '1,2', timeout: 30, retryUntil: 4_102_444_800 };
  return { displayName: FUZZED_JOB, job: 'onqueue', data, ...chosen, id, attempts: 0 };
}

const stringJob = (key: string, id: string): Tree => ({
  job: `${FUZZED_JOB}@handle`,
  data: { key, secret: MARKER, items: [{ note: MARKER }] },
  attempts: 0,
  id,
  delay: null,
});

const FORMS = [tree, tree, stringJob];

/** Replacements for a value, or whole documents. */
const VALUES: readonly unknown[] = [
  ...[null, true, -1, 0, 1.5, 1e-9, 1e308, 2 ** 63, '', 'x', 'onqueue', 'NaN', '1e400', '__proto__', 'constructor'],
  ...[
    'Illuminate\\Queue\\CallQueuedHandler@call',
    'class:Function',
    'class:Fuzzed',
    'Date',
    'undefined',
    '!!!!',
    '\ud800',
  ],
  ...['\u001b[2J\r\n10:00:00 info  all is well', '\u202e', 'y'.repeat(3000), '9'.repeat(400)],
  ...[
    [],
    {},
    [[]],
    [{ length: 4_294_967_295 }],
    { errors: {} },
    { handle: 1, middleware: 2 },
    nested(300),
    nested(1200),
  ],
];

const KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'job',
  'data',
  'command',
  'types',
  'id',
  'middleware',
  'handle',
  '0',
];

type Damage = (base: Tree, dice: Dice) => Buffer;

const DAMAGES: readonly (readonly [change: string, damage: Damage])[] = [
  ['flipped bits', (base, dice) => edited(base, dice, (bytes) => flipped(bytes, dice))],
  ['cut at the end', (base, dice) => edited(base, dice, (bytes) => bytes.subarray(0, dice.below(bytes.length)))],
  ['cut at the beginning', (base, dice) => edited(base, dice, (bytes) => bytes.subarray(dice.below(bytes.length)))],
  ['bytes put in', (base, dice) => edited(base, dice, (bytes) => putIn(bytes, dice.bytes(1 + dice.below(20)), dice))],
  ['bytes left out', (base, dice) => edited(base, dice, (bytes) => leftOut(bytes, dice))],
  [
    'two texts in one',
    (base, dice) => edited(base, dice, (bytes) => Buffer.concat([bytes, bytes.subarray(0, dice.below(200))])),
  ],
  ['values exchanged', exchanged],
  ['a value replaced', replaced],
  ['a member left out', removed],
  ['a key renamed', renamed],
  ['types of another kind', retyped],
  ['any JSON', (_, dice) => Buffer.from(JSON.stringify(anyJson(dice, 4)))],
  ['any bytes', (_, dice) => dice.bytes(dice.below(300))],
];

function edited(base: Tree, dice: Dice, edit: (bytes: Buffer) => Buffer): Buffer {
  // With white space, a text does not have the ending that can be read without parsing.
  return edit(Buffer.from(JSON.stringify(base, undefined, dice.pick([0, 0, 1]))));
}

function flipped(bytes: Buffer, dice: Dice): Buffer {
  const copy = Buffer.from(bytes);
  for (let flips = 1 + dice.below(3); flips > 0; flips -= 1) copy[dice.below(copy.length)]! ^= 1 << dice.below(8);
  return copy;
}

function putIn(bytes: Buffer, more: Buffer, dice: Dice): Buffer {
  const at = dice.below(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)]);
}

function leftOut(bytes: Buffer, dice: Dice): Buffer {
  const at = dice.below(bytes.length);
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + dice.below(12))]);
}

interface Place {
  readonly holder: Tree;
  readonly key: string;
}

function exchanged(base: Tree, dice: Dice): Buffer {
  const [one, other] = [dice.pick(places(base)), dice.pick(places(base))];
  const [first, second] = [one.holder[one.key], other.holder[other.key]];
  // If one contained the other, exchanging them would make a cycle.
  if (!holds(first, second) && !holds(second, first)) {
    one.holder[one.key] = second;
    other.holder[other.key] = first;
  }
  return Buffer.from(JSON.stringify(base));
}

function replaced(base: Tree, dice: Dice): Buffer {
  const { holder, key } = dice.pick(places(base));
  holder[key] = dice.pick(VALUES);
  return Buffer.from(JSON.stringify(base));
}

function removed(base: Tree, dice: Dice): Buffer {
  const { holder, key } = dice.pick(places(base));
  holder[key] = undefined;
  return Buffer.from(JSON.stringify(base));
}

function renamed(base: Tree, dice: Dice): Buffer {
  const { key } = dice.pick(places(base));
  return Buffer.from(JSON.stringify(base).replace(`${JSON.stringify(key)}:`, `${JSON.stringify(dice.pick(KEYS))}:`));
}

function retyped(base: Tree, dice: Dice): Buffer {
  const pointers = [
    '',
    '/',
    '/key',
    '/list/0',
    '/list/99',
    '/list/length',
    '/pattern',
    '/map/0',
    '/none',
    '/~2',
    '/__proto__',
  ];
  const types = [
    'Date',
    'Map',
    'Set',
    'URL',
    'RegExp',
    'Float64Array',
    'AggregateError',
    'class:Function',
    'Function',
    '',
    7,
  ];
  (base['data'] as Tree)['types'] = Object.fromEntries(
    Array.from({ length: 1 + dice.below(4) }, () => [dice.pick(pointers), dice.pick(types)]),
  );
  return Buffer.from(JSON.stringify(base));
}

function anyJson(dice: Dice, depth: number): unknown {
  const kind = dice.below(depth > 0 ? 5 : 3);
  if (kind < 2) return dice.pick(VALUES);
  if (kind === 2) return dice.bytes(dice.below(12)).toString('latin1');
  const length = dice.below(5);
  if (kind === 3) return Array.from({ length }, () => anyJson(dice, depth - 1));
  return Object.fromEntries(Array.from({ length }, () => [dice.pick(KEYS), anyJson(dice, depth - 1)]));
}

/** All places except the secrets themselves. */
function places(holder: Tree): readonly Place[] {
  return Object.entries(holder).flatMap(([key, value]): readonly Place[] => {
    if (typeof value === 'string' && value.includes(MARKER)) return [];
    const place = { holder, key };
    return typeof value === 'object' && value !== null ? [place, ...places(value as Tree)] : [place];
  });
}

function holds(outer: unknown, inner: unknown): boolean {
  if (typeof outer !== 'object' || outer === null) return false;
  return outer === inner || Object.values(outer).some((value) => holds(value, inner));
}

function nested(levels: number): unknown {
  return Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 1);
}

/** What a payload says outside its data, as far as it can be read. */
function outsideOf(bytes: Buffer): { readonly id?: string | undefined; readonly told: string } {
  try {
    const { job, id, data } = JSON.parse(bytes.toString()) as { job?: unknown; id?: unknown; data?: Tree | null };
    const told = JSON.stringify([job, id, data?.['commandName'], data?.['types']]);
    return { id: typeof id === 'string' && id !== '' ? id : undefined, told };
  } catch {
    return { told: '' };
  }
}

/** Pseudorandom numbers that are the same for the same seed (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}

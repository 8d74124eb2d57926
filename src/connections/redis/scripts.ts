/** Reads the Lua scripts, once per process, each with its parts before it: `base`, and those that its header names. */
import { createHash } from 'node:crypto';
import { scriptText } from './script-text';

/** The possible first words of each script's answer. Any other word, such as `stale`, is an error. */
const ANSWERS = {
  find: ['found', 'unseen', 'unknown'],
  peek: ['peeked'],
  push: ['pushed', 'gap', 'ended'],
  'push-once': ['pushed', 'before', 'late', 'skipped', 'ended'],
  exchange: ['exchanged'],
  renew: ['renewed'],
  permitted: ['permitted'],
  counts: ['counted'],
  clear: ['cleared'],
  keep: ['kept'],
  retry: ['retried', 'absent', 'held'],
  forget: ['forgotten', 'absent'],
  prune: ['pruned'],
  sift: ['sifted'],
  cancel: ['removed', 'signalled', 'marked', 'unseen', 'unknown'],
  reschedule: ['rescheduled', 'ready', 'debounced', 'unseen', 'unknown'],
  limit: ['limited'],
  pause: ['paused', 'unchanged'],
  resume: ['resumed', 'unchanged'],
  'tidy-pauses': ['tidied'],
  'batch-callbacks': ['read', 'unknown'],
  'batch-cancel': ['cancelled', 'unchanged'],
  'batch-hold': ['held', 'unchanged'],
  'batch-prune': ['pruned'],
  'batch-seal': ['sealed', 'unchanged'],
  'record-get': ['got', 'absent'],
  'record-list': ['listed'],
  'record-put': ['put', 'other'],
  'sum-add': ['added', 'known'],
  'sum-read': ['read'],
  recount: ['recounted', 'unseen', 'changed'],
  lane: ['changed'],
  lanes: ['listed'],
  'lock-acquire': ['acquired', 'held'],
  'lock-renew': ['renewed', 'lost'],
  'lock-release': ['released', 'lost'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type ScriptName = keyof typeof ANSWERS;

export interface Script {
  readonly source: string;
  /** The hash by which Redis knows it, once it was given the source. */
  readonly sha: string;
  readonly answers: readonly string[];
}

const scripts = new Map<ScriptName, Script>();

export function script(name: ScriptName): Script {
  let found = scripts.get(name);
  if (found === undefined) {
    const source = sourceOf(name);
    const sha = createHash('sha1').update(source).digest('hex');
    found = { source, sha, answers: ANSWERS[name] };
    scripts.set(name, found);
  }
  return found;
}

/**
 * The parts named in the header come before the script. Creating functions costs every call of a script. So those of the parts under
 * `need` are created when first called for: `need('promote')` gives this function, and creates no others than it mentions.
 */
function sourceOf(name: ScriptName): string {
  const text = scriptText(name);
  const named = (word: string): string =>
    Array.from(text.matchAll(new RegExp(`^-- {3}${word} +(.*)$`, 'gm')), ([, list]) => list!.split(' '))
      .flat()
      .map((part) => scriptText(`parts/${part}`))
      .join('\n');
  const [parts, created] = [named('parts'), named('need')];
  const calls = [parts, created, text].join('\n').matchAll(/\bneed\('(\w+)'\)/g);
  const need = createdOnNeed(created, new Set(Array.from(calls, ([, called]) => called!)));
  return [scriptText('parts/base'), need, parts, text].join('\n');
}

/** A function or constants, as parts declare them: from the beginning of a line on. */
const DECLARATION = /^local (?:function (\w+)[^]*?^end|([\w, ]+) = .*)$/gm;

/** The function `need`, for functions with these names. */
function createdOnNeed(parts: string, names: ReadonlySet<string>): string {
  if (names.size === 0) return '';
  const declared = Array.from(parts.matchAll(DECLARATION), ([text, made, constants]) => ({
    text,
    names: made === undefined ? constants!.split(', ') : [made],
    // Not in comments and texts, and no fields.
    mentioned: text.replaceAll(/--.*$|'[^']*'/gm, '').match(/(?<![\w.])[A-Za-z]\w*/g) ?? [],
  }));
  const branches = Array.from(names, (name) => {
    const wanted = new Set([name]);
    // Whatever a declaration mentions stands before it.
    const texts = declared.toReversed().flatMap(({ text, names: own, mentioned }) => {
      if (!own.some((one) => wanted.has(one))) return [];
      for (const word of mentioned) wanted.add(word);
      return [text];
    });
    return `if name == '${name}' then\n${texts.toReversed().join('\n')}\nmade[name] = ${name}\nreturn ${name}\nend`;
  });
  return `local made = {}\nlocal function need(name)\nif made[name] then return made[name] end\n${branches.join('\n')}\nend`;
}

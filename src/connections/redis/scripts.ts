/** Reads the Lua scripts, once for a process and script, each with its parts before it: `base`, and those that its header names. */
import { createHash } from 'node:crypto';
import { scriptText } from './script-text';

/** The first word of an answer, by script. Any other one, `stale` among them, is refused. */
const ANSWERS = {
  find: ['found', 'unseen', 'unknown'],
  peek: ['peeked'],
  push: ['pushed', 'gap', 'ended'],
  'push-once': ['queued', 'held', 'before', 'late', 'ended'],
  exchange: ['exchanged'],
  renew: ['renewed'],
  permitted: ['permitted'],
  counts: ['counted'],
  clear: ['cleared'],
  keep: ['kept'],
  retry: ['retried', 'absent', 'held'],
  forget: ['forgotten', 'absent'],
  prune: ['pruned'],
  cancel: ['removed', 'signalled', 'marked', 'unseen', 'unknown'],
  pause: ['paused', 'unchanged'],
  resume: ['resumed', 'unchanged'],
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
  'lock-acquire': ['acquired', 'held'],
  'lock-renew': ['renewed', 'lost'],
  'lock-release': ['released', 'lost'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type ScriptName = keyof typeof ANSWERS;

export interface Script {
  readonly name: ScriptName;
  readonly source: string;
  /** What Redis knows it by, once it was given the source. */
  readonly sha: string;
  readonly answers: readonly string[];
}

const scripts = new Map<ScriptName, Script>();

export function script(name: ScriptName): Script {
  let found = scripts.get(name);
  if (found === undefined) {
    const source = sourceOf(name);
    const sha = createHash('sha1').update(source).digest('hex');
    found = { name, source, sha, answers: ANSWERS[name] };
    scripts.set(name, found);
  }
  return found;
}

/**
 * The parts that the header names stand before the script: `parts` as they are, `rarely` in a function `rarely()` that makes
 * their functions when it is first called and gives them by name. To make a function costs every call of a script.
 */
function sourceOf(name: ScriptName): string {
  const text = scriptText(name);
  const named = (word: string): string =>
    (new RegExp(`^-- {3}${word} +(.*)$`, 'm').exec(text)?.[1]?.split(' ') ?? [])
      .map((part) => scriptText(`parts/${part}`))
      .join('\n');
  const rare = named('rarely');
  const functions = [...rare.matchAll(/^local function (\w+)/gm)].map(([, made]) => `${made} = ${made}`);
  const rarely = `local made\nlocal function rarely()\nif made then return made end\n${rare}\nmade = { ${functions.join(', ')} }\nreturn made\nend`;
  return [scriptText('parts/base'), ...(rare === '' ? [] : [rarely]), named('parts'), text].join('\n');
}

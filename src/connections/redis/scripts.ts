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

interface Script {
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

/** Parts that few calls need, apart by what needs them: see `sourceOf`. */
const LATER = ['sometimes', 'laned', 'arriving', 'ordered', 'rarely'] as const;

/**
 * The parts named in the header come before the script: those under `parts` as they are, those under the words of `LATER` inside
 * functions of these names, which create the functions of their parts when first called and return them by name. Creating functions
 * would cost every call of a script.
 */
function sourceOf(name: ScriptName): string {
  const text = scriptText(name);
  const named = (word: string): string =>
    (new RegExp(`^-- {3}${word} +(.*)$`, 'm').exec(text)?.[1]?.split(' ') ?? [])
      .map((part) => scriptText(`parts/${part}`))
      .join('\n');
  const later = LATER.map((word) => createdLater(word, named(word)));
  return [scriptText('parts/base'), `local ${LATER.join(', ')}`, ...later, named('parts'), text].join('\n');
}

function createdLater(name: string, parts: string): string {
  if (parts === '') return '';
  const functions = [...parts.matchAll(/^local function (\w+)/gm)].map(([, made]) => `${made} = ${made}`);
  const made = `${name}_made`;
  return `local ${made}\nfunction ${name}()\nif ${made} then return ${made} end\n${parts}\n${made} = { ${functions.join(', ')} }\nreturn ${made}\nend`;
}

/** Reads the Lua scripts, once for a process and script, each with the prelude before it. */
import { createHash } from 'node:crypto';
import { scriptText } from './script-text';

/** The first word of an answer, by script. Any other one, `stale` among them, is refused. */
const ANSWERS = {
  push: ['pushed'],
  exchange: ['exchanged'],
  renew: ['renewed'],
  permitted: ['permitted'],
  counts: ['counted'],
  clear: ['cleared'],
  keep: ['kept'],
  retry: ['retried', 'absent'],
  forget: ['forgotten', 'absent'],
  prune: ['pruned'],
  cancel: ['removed', 'signalled', 'marked', 'unseen', 'unknown'],
  pause: ['paused', 'unchanged'],
  resume: ['resumed', 'unchanged'],
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
    const source = `${scriptText('prelude')}\n${scriptText(name)}`;
    const sha = createHash('sha1').update(source).digest('hex');
    found = { name, source, sha, answers: ANSWERS[name] };
    scripts.set(name, found);
  }
  return found;
}

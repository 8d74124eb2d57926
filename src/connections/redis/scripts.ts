/** Reads the Lua scripts, once for a process and script, each with the prelude before it. */
import { createHash } from 'node:crypto';
import { scriptText } from './script-text';

export type ScriptName =
  | 'push'
  | 'exchange'
  | 'renew'
  | 'counts'
  | 'clear'
  | 'keep'
  | 'retry'
  | 'forget'
  | 'prune'
  | 'lock-acquire'
  | 'lock-renew'
  | 'lock-release';

export interface Script {
  readonly name: ScriptName;
  readonly source: string;
  /** What Redis knows it by, once it was given the source. */
  readonly sha: string;
}

const scripts = new Map<ScriptName, Script>();

export function script(name: ScriptName): Script {
  let found = scripts.get(name);
  if (found === undefined) {
    const source = `${scriptText('prelude')}\n${scriptText(name)}`;
    found = { name, source, sha: createHash('sha1').update(source).digest('hex') };
    scripts.set(name, found);
  }
  return found;
}

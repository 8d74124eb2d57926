/** The scope of a run that the user's container opens: what has to be waited for is made before it is needed. */
import { types } from 'node:util';
import type { Class } from '../base/class';
import { invalidContainer } from './errors';
import { constructorInjections, injectionsOf } from './parameters';
import { disposeOf, GivenScope, openScope, plainToken, runInScope } from './scope';
import type { Container, OpeningRun, RunContainer, Scope, Values } from './scope';

/**
 * A scope, also for a container that opens each run. Errors of single tokens are thrown where they are needed.
 * @param values what the run gives itself, by token
 * @throws what `open()` throws, E_INVALID_CONTAINER
 */
export async function openRunScope(
  container: Container | undefined,
  run: OpeningRun,
  values: ReadonlyMap<unknown, unknown> = new Map(),
): Promise<Scope> {
  const tokens = run.tokens.filter((token) => !values.has(token));
  if (container?.open === undefined) return openScope(container, values);
  const opened = await container.open({ ...run, tokens });
  if (typeof (opened as Partial<RunContainer> | undefined)?.resolve !== 'function') throw invalidContainer(opened);
  const scope = new OpenedScope(opened, values);
  await runInScope(scope, () => scope.prepare(tokens, run.handler));
  return scope;
}

/** Undefined if the scope has nothing to wait for. */
export function prepared(scope: Scope, target: Class, method: string, leading: number): Promise<void> | undefined {
  if (!(scope instanceof OpenedScope)) return undefined;
  return scope.prepare(injectionsOf(target, method, leading).map(({ token }) => token));
}

/** A run's scope on what the user's container has opened for it. What has to be waited for is made before it is needed. */
class OpenedScope extends GivenScope {
  readonly #opened: RunContainer;
  readonly #made = new Map<unknown, () => unknown>();
  #handler: (() => unknown) | undefined;

  constructor(opened: RunContainer, values: Values) {
    super(opened, values);
    this.#opened = opened;
  }

  /** Makes what the tokens stand for, and the handler. Never rejects: what cannot be made throws when it is resolved. */
  async prepare(tokens: readonly unknown[], handler?: Class): Promise<void> {
    const isMade = handler !== undefined && (await this.#constructs(handler));
    const own = handler === undefined || isMade ? [] : constructorInjections(handler).map((one) => one.token);
    const wanted = new Set([...tokens, ...own.map((token) => (handler ? plainToken(handler, token) : token))]);
    const make = async (token: unknown): Promise<void> => {
      // A token that the run has registered, or one that was made before.
      if (!this.has(token) && !this.#made.has(token))
        this.#made.set(token, await settled(() => this.#opened.resolve(token, this)));
    };
    await Promise.all([...wanted].map(make));
  }

  override resolve(token: unknown): unknown {
    const made = this.#made.get(token)?.();
    return made === undefined ? super.resolve(token) : made;
  }

  override construct(handler: Class): object {
    return (this.#handler?.() as object | undefined) ?? super.construct(handler);
  }

  override dispose(): Promise<void> | undefined {
    const own = super.dispose();
    return this.#opened.dispose === undefined
      ? own
      : Promise.all([own, disposeOf([this.#opened])]).then(() => undefined);
  }

  async #constructs(handler: Class): Promise<boolean> {
    if (this.#opened.construct === undefined) return false;
    const made = await settled(() => this.#opened.construct!(handler));
    this.#handler = made;
    return made.isMade;
  }
}

/** How a call ended that is not to be asked twice: gives what it gave, or throws what it threw. */
async function settled(call: () => unknown): Promise<(() => unknown) & { readonly isMade: boolean }> {
  try {
    const given = call();
    // Not everything with a then(), as above.
    const value = types.isPromise(given) ? await given : given;
    return Object.assign(() => value, { isMade: value !== undefined });
  } catch (error) {
    const fail = (): never => {
      throw error;
    };
    return Object.assign(fail, { isMade: true });
  }
}

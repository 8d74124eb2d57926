/** Stand-ins for dependencies, in a container of a test's own. */
import { container as root, Lifecycle, type DependencyContainer, type InjectionToken } from 'tsyringe';
import type { Class } from '../base/class';
import { constructorInjections } from './parameters';
import { copies, internalsOf, isTsyringeContainer, plainToken } from './scope';
import type { Container, OpeningRun, RunContainer, Token } from './scope';

/** A stand-in for a dependency. It needs only the members that the code under test uses. */
export type Stub = readonly [token: Token, stub: unknown];

/**
 * A container with the stubs; the given one is not changed.
 *
 * With tsyringe they also reach what is injected into the dependencies of a job. A container of another kind resolves those
 * itself, so there the stubs only replace what the job, its handler or its middleware asks for. It makes no handler that asks
 * for a stub: it would give it the real thing.
 *
 * @param container the configuration's; default: tsyringe's root container
 */
export function withStubs(container: Container | undefined, stubs: readonly Stub[]): Container | undefined {
  if (stubs.length === 0) return container;
  const parent = container ?? root;
  if (isTsyringeContainer(parent)) return stubbedChild(parent, stubs);
  const values = new Map<unknown, unknown>(stubs);
  const resolve = (from: RunContainer): Container['resolve'] => {
    return (token, scope) => (values.has(token) ? values.get(token) : from.resolve(token, scope!));
  };
  const asks = (handler: Class): boolean =>
    constructorInjections(handler).some(({ token }) => values.has(plainToken(handler, token)));
  if (parent.open === undefined) return { resolve: resolve(parent) };
  const open = async (run: OpeningRun): Promise<RunContainer> => {
    const opened = await parent.open!(run);
    return {
      resolve: resolve(opened),
      construct: (handler) => values.get(handler) ?? (asks(handler) ? undefined : opened.construct?.(handler)),
      dispose: () => opened.dispose?.(),
    };
  };
  return { resolve: resolve(parent), open };
}

/**
 * A child of `parent` that resolves the tokens to the stubs. Singletons first needed through it are made with the stubs, so
 * they end with it; existing singletons are used as they are.
 */
function stubbedChild(
  parent: DependencyContainer,
  stubs: readonly (readonly [token: unknown, stub: unknown])[],
): DependencyContainer {
  const child = parent.createChildContainer();
  for (const [token, stub] of stubs) child.register(token as InjectionToken, { useValue: stub });
  const own = copies(({ options, instance }) => options.lifecycle === Lifecycle.Singleton && instance === undefined);
  const internals = internalsOf(child);
  const find = internals.getRegistration.bind(child);
  internals.getRegistration = (token) => {
    const registration = find(token);
    return registration && own(registration);
  };
  return child;
}

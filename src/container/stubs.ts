/** Puts stubs in the place of what a container would give: for tests. */
import { container as root } from 'tsyringe';
import type { Container, Token } from './container';
import { isTsyringeContainer, stubbedChild } from './tsyringe-scope';

/** What stands in for a dependency. It need have no more of it than the code under test uses. */
export type Stub = readonly [token: Token, stub: unknown];

/**
 * The container with the stubs in it; the given one is not changed.
 *
 * In tsyringe they also reach what is injected into the dependencies of a job. A container of another kind resolves
 * those itself, so there they only stand in for what the job, its handler or its middleware asks for.
 *
 * @param container the configuration's; default: tsyringe's root container
 */
export function withStubs(container: Container | undefined, stubs: readonly Stub[]): Container | undefined {
  if (stubs.length === 0) return container;
  const parent = container ?? root;
  if (isTsyringeContainer(parent)) return stubbedChild(parent, stubs);
  const values = new Map<unknown, unknown>(stubs);
  return { resolve: (token, scope) => (values.has(token) ? values.get(token) : parent.resolve(token, scope)) };
}

/** Replaces what a container would give by stubs, for tests. */
import { container as root } from 'tsyringe';
import type { Container, Token } from './container';
import { isTsyringeContainer, stubbedChild } from './tsyringe-scope';

/** A stand-in for a dependency. It needs only the members that the code under test uses. */
export type Stub = readonly [token: Token, stub: unknown];

/**
 * A container with the stubs; the given one is not changed.
 *
 * With tsyringe they also reach what is injected into the dependencies of a job. A container of another kind resolves those
 * itself, so there the stubs only replace what the job, its handler or its middleware asks for.
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

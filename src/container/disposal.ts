/** Disposes of the objects made for one run. */
import { disposeFailed } from './errors';

/** @param made last first, so that nothing is used after it was disposed of; an error in one does not stop the others */
export async function disposeOf(made: readonly object[]): Promise<void> {
  const failures: { name: string; error: unknown }[] = [];
  for (const instance of made) {
    try {
      if ('dispose' in instance && typeof instance.dispose === 'function') await instance.dispose();
    } catch (error) {
      failures.push({ name: instance.constructor.name, error });
    }
  }
  if (failures.length > 0) throw disposeFailed(failures);
}

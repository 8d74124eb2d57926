/** A user's project in a temporary folder. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { QueueManager } from '../../../src/application/queue-manager';
import { silentLogger } from '../../../src/base/logger';
import { builtInConnectors } from '../../../src/connections/built-in';

export class Project {
  readonly folder = mkdtempSync(join(tmpdir(), 'onqueue-cli-'));

  constructor(files: Readonly<Record<string, string>>) {
    this.write({ 'package.json': '{}', ...files });
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true });
      writeFileSync(join(this.folder, name), text);
    }
  }

  /** The content of a file that a job writes. Empty until then. */
  read(name: string): string {
    try {
      return readFileSync(join(this.folder, name), 'utf8');
    } catch {
      return '';
    }
  }

  /** Pushes a job to the project's SQLite file from this process, because a new process takes a while to start. */
  async push(job: string, data: object = {}): Promise<void> {
    const url = `sqlite:${join(this.folder, 'queue.sqlite')}`;
    const manager = new QueueManager(
      { connectors: builtInConnectors, logger: silentLogger },
      { connections: { database: { driver: 'database', url } } },
    );
    await manager.connection().push(job, data);
    await manager.close();
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

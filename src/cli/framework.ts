/** The framework behind a command that opens a project. Loaded then: a supervisor, which opens none, stays small. */
import '../composition';

export { replaceDefaultManager } from '../application/default-manager';
export { QueueManager } from '../application/queue-manager';

/** The framework behind a command that opens a project. Loaded then: a supervisor, which opens none, stays small. */
import '../composition';

export { replaceDefaultManager } from '../queue/default-manager';
export { QueueManager } from '../queue/queue-manager';

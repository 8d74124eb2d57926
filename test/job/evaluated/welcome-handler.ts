import { Handles } from 'onqueue';
import { Welcome } from './welcome';

export const greeted: string[] = [];

@Handles(Welcome)
export class WelcomeHandler {
  handle({ to }: Welcome) {
    greeted.push(to);
  }
}

/** How the jobs of a class are written and read where another framework shares them: a class of Laravel, for example. */
export interface JobFormat {
  /** The properties that the other framework expects in each job. */
  readonly expected: readonly string[];
  /**
   * The members `job` and `data` of the payload.
   *
   * @param properties of the job, none of them undefined
   * @param subject the name of the job in errors, which name `file` too
   * @throws UnserializableValueError
   */
  write(
    properties: Readonly<Record<string, unknown>>,
    subject: string,
    file?: string,
  ): { readonly job: string; readonly data: object };
  /**
   * The properties of the job; or a text that says why only the other framework can run it.
   *
   * @param data as in the payload
   * @throws InvalidPayloadError
   */
  read(data: unknown): Record<string, unknown> | string;
}

/** Where health is answered and commands are taken. */
export interface AdminSettings {
  /** Port 0: any free port. */
  readonly listen: { readonly host: string; readonly port: number };
}

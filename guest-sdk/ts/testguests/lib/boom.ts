// A file of its own, so that a stack leads to it.
export function boom(x: any): void {
  interface Unused { so: "that lines of the source and of the bundle differ" }
  type Also = Unused["so"];

  x.does.not.exist as Also;
}

// Files that are imported as text.
declare module "*.md" {
  const text: string;
  export default text;
}

declare module "*.py" {
  const text: string;
  export default text;
}

declare module "*.txt" {
  const text: string;
  export default text;
}

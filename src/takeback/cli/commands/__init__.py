"""Commands by what they are about; a module is imported only when one of its is called."""

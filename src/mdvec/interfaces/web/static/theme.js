// Runs before anything is drawn: the chosen theme wins over the system's.
const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;

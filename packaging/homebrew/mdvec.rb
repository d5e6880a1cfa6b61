# Written by scripts/release.py; the release workflow adds the digests.
class Mdvec < Formula
  include Language::Python::Virtualenv

  desc "Local-first search over notes and documents, by words and meaning"
  homepage "https://github.com/mdvec/mdvec"
  url "https://github.com/mdvec/mdvec/releases/download/v1.0.0rc1/mdvec-1.0.0rc1.tar.gz"
  sha256 "SDIST_SHA256"
  license all_of: ["MIT", "Apache-2.0", "CC-BY-SA-4.0"]

  depends_on "python@3.13"

  resource "mdvec-e5" do
    url "https://github.com/mdvec/mdvec/releases/download/v1.0.0rc1/mdvec_e5-1.0.0-py3-none-any.whl", using: :nounzip
    sha256 "MODEL_SHA256"
  end

  def install
    venv = virtualenv_create(libexec, "python3.13")
    # The lock file of the release: wheels with the digests that it names.
    system "python3.13", "-m", "pip", "--python=#{libexec}/bin/python", "install", "--require-hashes",
           "--only-binary=:all:", "-r", "requirements/core.txt"
    resource("mdvec-e5").stage { venv.pip_install Pathname.glob("*.whl").first }
    venv.pip_install_and_link buildpath
    generate_completions_from_executable(bin/"mdvec", shells: [:bash, :zsh, :fish], shell_parameter_format: :click)
  end

  test do
    (testpath/"notes/tap.md").write "The faucet drips.\n"
    assert_match "tap.md", shell_output("#{bin}/mdvec search --docs-dir notes 水道の蛇口")
  end
end

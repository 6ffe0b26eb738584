from dataclasses import dataclass
from typing import Literal

import pytest

from askonce.config import as_dict, read_toml, settings
from askonce.errors import ConfigError, DataError


@dataclass(frozen=True)
class Inner:
    width: int = 3


@dataclass(frozen=True)
class Config:
    dim: int = 200
    rate: float = 0.1
    pooling: Literal["mean", "max"] = "mean"
    sizes: tuple[int, ...] = ()
    limit: int | None = None
    inner: Inner = Inner()


def test_values_are_read_and_written_back():
    values = {"dim": 5, "rate": 1, "pooling": "max", "sizes": [1, 2], "inner": {"width": 7}}
    config = settings(Config, values)
    assert config == Config(5, 1.0, "max", (1, 2), None, Inner(7))
    assert settings(Config, as_dict(config)) == config


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dims": 5}, r"unknown setting 'model.dims'; did you mean 'dim'\?"),
        ({"inner": {"wdth": 5}}, r"unknown setting 'model.inner.wdth'; did you mean 'width'"),
        ({"pooling": "mex"}, r"model.pooling = 'mex'; did you mean 'max' or 'mean'"),
        ({"dim": "5"}, "model.dim = '5'; expected int"),
        ({"dim": True}, "model.dim = True; expected int"),
        ({"dim": 1.5}, "model.dim = 1.5; expected int"),
        ({"sizes": 3}, "model.sizes = 3; expected a list"),
        ({"sizes": ["a"]}, r"model.sizes\[0\] = 'a'; expected int"),
        ({"limit": "x"}, "model.limit = 'x'"),
    ],
)
def test_wrong_settings_are_named(values, message):
    with pytest.raises(ConfigError, match=message):
        settings(Config, values, "model.")


def test_broken_toml_names_the_file(tmp_path):
    path = tmp_path / "recipe.toml"
    with pytest.raises(DataError, match="nothing at this path"):
        read_toml(path)
    path.write_text("dim = = 3")
    with pytest.raises(DataError, match=r"recipe.toml: expected TOML"):
        read_toml(path)
    path.write_text("dim = 3")
    assert read_toml(path) == {"dim": 3}
